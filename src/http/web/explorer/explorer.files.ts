import { fileURLToPath } from 'node:url'

/** A package whose files browsers load, with the licences that every copy of them must carry. */
export type ExplorerPackage = { readonly name: string; readonly files: readonly string[]; readonly licences: readonly string[] }

export const SWAGGER_UI = {
  name: 'swagger-ui-dist',
  files: ['swagger-ui-bundle.js', 'swagger-ui.css'],
  licences: ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'],
} as const satisfies ExplorerPackage

export const REDOC = {
  name: 'redoc',
  files: ['bundles/redoc.standalone.js'],
  licences: ['LICENSE'],
} as const satisfies ExplorerPackage

export const EXPLORER_PACKAGES: readonly ExplorerPackage[] = [SWAGGER_UI, REDOC]

const IS_BUILT = import.meta.url.endsWith('.js')

/** `npm run build` copies the files next to the built code. A clone reads them from its development dependencies. */
export function locateExplorerFile(packageName: string, file: string): string {
  const url = IS_BUILT ? new URL(`explorers/${packageName}/${file}`, import.meta.url).href : import.meta.resolve(`${packageName}/${file}`)
  return fileURLToPath(url)
}
