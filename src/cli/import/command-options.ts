import type { OnConflict } from '../../domain/import/import.service.ts'
import type { SourceName } from './sources/source-names.ts'

export type ImportCommandOptions = {
  readonly from: SourceName
  readonly onConflict: OnConflict
  readonly keepIds?: true
  readonly withoutPasswords?: true
  readonly rejects?: string
  readonly hashConfig?: string
  readonly dryRun?: true
  readonly json?: true
}

export type ExportCommandOptions = { readonly withHashes?: true; readonly force?: true; readonly json?: true }
