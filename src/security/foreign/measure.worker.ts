import { parentPort, workerData } from 'node:worker_threads'
import { measureUnitMs } from './measure.ts'

// The entry point of the thread that equal-work.ts starts with the names of families.
if (parentPort !== null && Array.isArray(workerData))
  parentPort.postMessage(workerData.map((family) => [family, measureUnitMs(String(family))] as const))
