import type { TestContext } from 'node:test'

/** Stops something when the test ends, and forgets it: the runner keeps the hooks of every test, with all that they refer to, until it exits. */
export function stopAfter(t: Pick<TestContext, 'after'>, stop: () => unknown): void {
  let pending: (() => unknown) | undefined = stop
  t.after(async () => {
    await pending?.()
    pending = undefined
  })
}
