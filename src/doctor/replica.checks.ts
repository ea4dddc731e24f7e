import type { Config } from '../config/load.ts'
import { findReplicaProblem } from '../storage/maintenance/postgres-inspection.ts'
import { type Finding, ok, reasonOf, warning } from './finding.ts'

const ADVICE =
  'Lists and searches come from the primary meanwhile. Check that the replica runs and streams from the primary of DATABASE_URL, or unset DATABASE_READ_URL.'

/** Checks the replica of DATABASE_READ_URL. */
export async function checkReplica({ database }: Config): Promise<readonly Finding[]> {
  if (database.kind === 'sqlite' || database.replicaUrl === undefined) return []
  const problem = await findReplicaProblem(database).catch(reasonOf)
  return [problem === undefined ? ok('replica', 'can be used') : warning('replica', problem, ADVICE)]
}
