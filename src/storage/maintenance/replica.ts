import type { DatabaseTarget } from '../database-target.ts'
import { openDatabase } from '../open.ts'
import { readInstanceId } from '../repositories/operations/instance.repository.ts'

/** Reads once from the replica, as the service would. Returns why it cannot be used, or undefined. */
export async function findReplicaProblem(target: DatabaseTarget): Promise<string | undefined> {
  const problems: string[] = []
  const db = await openDatabase(target, { onReplicaAway: (problem) => void problems.push(problem) })
  try {
    await readInstanceId(db.lists)
    return problems[0]
  } finally {
    await db.close()
  }
}
