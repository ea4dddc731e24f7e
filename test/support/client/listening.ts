import type { TestContext } from 'node:test'
import { type StartOptions, startApp, type TestApp } from '../app/start-app.ts'
import { freePort } from '../servers/free-port.ts'

/** A service that listens at its BASE_URL. */
export async function startListening(t: TestContext, options: StartOptions = {}): Promise<TestApp & { readonly url: string }> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const service = await startApp(t, { ...options, env: { BASE_URL: url, ...options.env } })
  await service.app.listen({ host: '127.0.0.1', port })
  return { ...service, url }
}
