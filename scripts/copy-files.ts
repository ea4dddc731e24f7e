// Copies the browser files of both explorers, with their licences, into the built package: an installation needs neither package,
// nor what they depend on.
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EXPLORER_PACKAGES } from '../src/http/web/explorer/explorer.assets.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

for (const { name, files, licences } of EXPLORER_PACKAGES) {
  const source = join(ROOT, 'node_modules', name)
  const target = join(ROOT, 'dist/http/web/explorer/explorers', name)
  for (const file of [...files, ...licences]) {
    mkdirSync(dirname(join(target, file)), { recursive: true })
    copyFileSync(join(source, file), join(target, file))
  }
  const { version, license } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { version: string; license: string }
  writeFileSync(join(target, 'package.json'), `${JSON.stringify({ name, version, license }, undefined, 2)}\n`)
}

// The stylesheet and the script of the pages.
cpSync(join(ROOT, 'src/http/web/site/style'), join(ROOT, 'dist/http/web/site/style'), { recursive: true })

// The documents that the console shows, without their pictures.
cpSync(join(ROOT, 'docs'), join(ROOT, 'dist/docs'), { recursive: true, filter: (file) => !/[\\/](?:images|decisions)$/.test(file) })

// The checks of `latchkey conformance`, which are built as a package of their own.
cpSync(join(ROOT, 'packages/conformance/dist'), join(ROOT, 'dist/conformance'), {
  recursive: true,
  filter: (file) => !file.endsWith('.d.ts'),
})
