/** Their metadata name the issuer by the id of a tenant, or leave it open for every tenant. */
const TENANT_HOSTS = /^login\.microsoftonline\.com$|\.b2clogin\.com$/
const TENANT_ID = /^\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\//i

/** Whether the provider with this issuer in the settings can have issued an identity. */
export function isIssuerOf(configured: string, issuer: string): boolean {
  const [setting, stored] = [URL.parse(configured), URL.parse(issuer)]
  if (setting === null || stored === null || setting.origin !== stored.origin) return false
  // A tenant that the settings name by anything but its id, such as `common` or a domain, has an id that they do not know.
  if (TENANT_HOSTS.test(setting.hostname) && !TENANT_ID.test(setting.pathname)) return true
  return pathOf(setting) === pathOf(stored)
}

/** The settings may name the address of the metadata, and GitHub's issuer has no slash at its end. */
function pathOf({ pathname }: URL): string {
  return pathname.replace(/\/(\.well-known\/.*)?$/, '')
}
