// Prints the software bill of materials of the package: its dependencies, and the two explorers whose browser files it contains.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { EXPLORER_PACKAGES } from '../src/http/web/explorer/explorer.assets.ts'

type Component = { name: string; readonly 'bom-ref': string; properties: { readonly name: string }[] }
type Bom = {
  readonly metadata: { readonly component: Component }
  readonly components: Component[]
  readonly dependencies: { readonly ref: string; readonly dependsOn: string[] }[]
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))

function readBom(...options: string[]): Bom {
  const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', ...options]
  return JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1e8 })) as Bom
}

const bom = readBom('--omit', 'dev')
const bundled = readBom().components.filter(({ name }) => EXPLORER_PACKAGES.some((explorer) => explorer.name === name))
if (bundled.length !== EXPLORER_PACKAGES.length) throw new Error('an explorer is not installed; run `npm ci`')
const itself = bom.metadata.component
// npm takes the name from the folder.
itself.name = 'latchkey'
for (const component of bundled) {
  const properties = component.properties.filter(({ name }) => name !== 'cdx:npm:package:development')
  bom.components.push({ ...component, properties })
  bom.dependencies.push({ ref: component['bom-ref'], dependsOn: [] })
  bom.dependencies.find(({ ref }) => ref === itself['bom-ref'])?.dependsOn.push(component['bom-ref'])
}
process.stdout.write(`${JSON.stringify(bom, undefined, 2)}\n`)
