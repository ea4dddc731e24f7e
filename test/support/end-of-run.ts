import { after } from 'node:test'

const steps: (() => Promise<void> | void)[] = []

/** Calls a function once, after all test files of this process. */
export function atEndOfRun(step: () => Promise<void> | void): void {
  steps.push(step)
}

export async function finishRun(): Promise<void> {
  for (const step of steps.splice(0)) await step()
}

// A file that runs alone has no worker that finishes the run (scripts/test-worker.ts).
if (process.env['TEST_CLAIMS'] === undefined) after(finishRun)
