import type { Declared } from './declarations.ts'

/** A path with the routes of its methods. */
export type DeclaredPath = { readonly url: string; readonly routes: readonly Declared[]; readonly methods: ReadonlySet<string> }

/** A segment of a path. Null stands for a parameter, which is any segment, even an empty one. */
type Segment = string | null
type Node = { path?: DeclaredPath; readonly next: Map<Segment, Node> }

export type DeclaredPaths = ReturnType<typeof createPaths>

/** The declared paths, which are compared in the way of the router: it keeps a tree for each method, this is one for all of them. */
export function createPaths(routes: readonly Declared[]) {
  const root: Node = { next: new Map() }
  const all = Map.groupBy(routes, ({ url }) => url)
    .entries()
    .map(([url, declared]) => ({ url, routes: declared, methods: new Set(declared.flatMap(({ method }) => method)) }))
    .toArray()
  for (const path of all) nodeOf(root, segmentsOf(path)).path = path
  return {
    all: all as readonly DeclaredPath[],
    /** The path that a target means, whatever the method. */
    find: (target: string): DeclaredPath | undefined => matching(root, split(decoded(target))).next().value,
    /** Whether a target can mean another path as well. */
    isAmbiguous: (path: DeclaredPath): boolean => [...matching(root, segmentsOf(path))].length > 1,
  }
}

/** A fixed segment comes before a parameter, as in the router. */
function* matching({ path, next }: Node, [segment, ...rest]: readonly Segment[]): Generator<DeclaredPath, undefined> {
  if (segment === undefined) {
    if (path) yield path
    return
  }
  const nodes = segment === null ? next.values() : [next.get(segment), next.get(null)]
  for (const node of nodes) if (node) yield* matching(node, rest)
}

function nodeOf(root: Node, segments: readonly Segment[]): Node {
  return segments.reduce<Node>((node, segment) => {
    const known = node.next.get(segment) ?? { next: new Map() }
    node.next.set(segment, known)
    return known
  }, root)
}

function segmentsOf({ url }: DeclaredPath): Segment[] {
  return split(url).map((segment) => (segment.startsWith(':') ? null : segment))
}

/** Without a trailing slash. */
function split(path: string): string[] {
  return path.replace(/(?<=.)\/$/, '').split('/')
}

/** The router decodes a path, but no character that has a meaning in it. It has refused a target that cannot be decoded. */
function decoded(target: string): string {
  const [path = ''] = target.split(/[?#]/, 1)
  return decodeURI(path)
}
