import type { Declared } from './declarations.ts'

/** A path with the routes of its methods. */
export type DeclaredPath = { readonly url: string; readonly routes: readonly Declared[]; readonly methods: ReadonlySet<string> }

/** A segment of a path. Null stands for a parameter, which is any segment, even an empty one. */
type Segment = string | null
type Node = { path?: DeclaredPath; readonly fixed: Map<string, Node>; parameter?: Node }

export type DeclaredPaths = ReturnType<typeof createPaths>

/** The declared paths, which are compared in the way of the router: it keeps a tree for each method, this is one for all of them. */
export function createPaths(routes: readonly Declared[]) {
  const root: Node = { fixed: new Map() }
  for (const [url, declared] of Map.groupBy(routes, (route) => route.url)) {
    const methods = new Set(declared.flatMap(({ method }) => method))
    nodeOf(root, segmentsOf(url)).path = { url, routes: declared, methods }
  }
  return {
    /** All of them. If a target means two, the router prefers the earlier one. */
    all: [...pathsBelow(root)] as readonly DeclaredPath[],
    /** The path that a target means, whatever the method. */
    find: (target: string): DeclaredPath | undefined => matching(root, split(decoded(target))).next().value,
    /** The paths that can mean the same target as this one, which is among them. */
    overlapping: ({ url }: DeclaredPath): DeclaredPath[] => [...matching(root, segmentsOf(url))],
  }
}

/** A fixed segment comes before a parameter, as in the router. */
function* matching(node: Node, [segment, ...rest]: readonly Segment[]): Generator<DeclaredPath, undefined> {
  if (segment === undefined) {
    if (node.path) yield node.path
    return
  }
  const nodes = segment === null ? nodesBelow(node) : [node.fixed.get(segment), node.parameter]
  for (const next of nodes) if (next) yield* matching(next, rest)
}

function* pathsBelow(node: Node): Generator<DeclaredPath, undefined> {
  if (node.path) yield node.path
  for (const next of nodesBelow(node)) if (next) yield* pathsBelow(next)
}

function nodesBelow({ fixed, parameter }: Node): (Node | undefined)[] {
  return [...fixed.values(), parameter]
}

function nodeOf(root: Node, segments: readonly Segment[]): Node {
  let node = root
  for (const segment of segments) {
    const next: Node = (segment === null ? node.parameter : node.fixed.get(segment)) ?? { fixed: new Map() }
    if (segment === null) node.parameter = next
    else node.fixed.set(segment, next)
    node = next
  }
  return node
}

function segmentsOf(url: string): Segment[] {
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
