/** Separates the paths of a table, none of which contains a space. */
function paths(table: TemplateStringsArray): string[] {
  return table.raw.join('').trim().split(/\s+/)
}

/** Paths that a proxy and a product may read differently. The examples in deploy/ refuse them with 400, before any rule. */
export const REFUSED_PATHS: readonly string[] = [
  // Dot segments, away from a path with a rule and towards it.
  ...paths`
    /admin/../x /admin/.. /admin/..?a=1 /admin/../../x /admin/x/../../y /admin/./x /admin/. /./admin /x/../admin /x/../../admin
    /../admin /ADMIN/../x /%61dmin/../x /admin/%2e%2e/x /admin/%2E%2E/x /admin/.%2e/x /admin/%2e./x /admin/%2e/x /%2e/admin
    /x/%2e%2E/admin /reports/../x /reports/%2e%2e/x`,
  // Encoded slashes.
  ...paths`
    /admin/..%2fx /admin/..%2Fx /admin%2f..%2fx /admin%2fx /%2fadmin /x%2f..%2fadmin /x/..%2fadmin /x/%2e%2e%2fadmin /files/a%2Fb`,
  // Backslashes.
  ...paths`
    /admin\..\x /admin/..\x /x\..\admin /\x/admin /\admin /admin%5c..%5cx /admin/..%5Cx /x%5c..%5Cadmin /%5cadmin`,
  // Semicolons, which begin a parameter of a path segment in some products.
  ...paths`
    /admin;x=1 /;x=1/admin /x;/../admin /x/..;/admin /admin/..;/x /admin%3bx /x/..%3B/admin`,
  // Two slashes at the start: `new URL(path, base)` reads what follows as a host.
  ...paths`
    //x/admin //admin ///admin //admin/../x`,
  // A fragment, a null character, and what does not begin with a slash. Caddy would ask Latchkey about /heartbeat, which needs no credential.
  ...paths`
    /x#/../admin /x%00/admin /admin%00 x:http://app.example.com/admin x:http://app.example.com/heartbeat x:/../admin
    http://app.example.com/admin/../x http://app.example.com//x/admin http:admin admin *`,
]

export type Rule = 'admin' | 'reports' | 'everybody'

/** Ordinary paths. They reach the product unchanged, under this rule of the examples. */
export const ORDINARY_PATHS: Readonly<Record<Rule, readonly string[]>> = {
  everybody: paths`
    / /?a=../admin /x?path=/admin/../x;y%2fz%5c// /x?a=%2e%2e%2f&b=\&c=; /items?role=x /items?role=admin&scope=none /files/a..b
    /files/..a /files/a.. /files/.../x /files/v1.2 /files/a. /.well-known/x /x/.hidden/y /x/..hidden /files/%2ehidden /files/a%2e%2eb
    /a%20b/c+d /stra%C3%9Fe/%e6%97%a5 /files/100%25 /files/what%3f /files/no%231 /x//y /x/https://example.com/y /x/y/
    /~mia/@x/a:b,c=d&e!$'()* /x/admin`,
  admin: paths`
    /admin /admin/ /admin?role=user /admin. /admin/v1.2/a..b /admin/.well-known/x /admin/%61%20b /admin//x /Admin/x /ADMIN /%61dmin/x
    /%41%44min`,
  reports: paths`
    /reports/2026.pdf /rep%6Frts/2026 /REPORTS?scope=anything&role=user`,
}
