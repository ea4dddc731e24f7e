import { createHash, randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { TestContext } from 'node:test'
import { serve } from './listen.ts'

type Somebody = {
  readonly user: { readonly id: number; readonly login: string; readonly name: string | null }
  readonly emails: readonly { readonly email: string; readonly primary: boolean; readonly verified: boolean }[]
}

const OCTOCAT: Somebody = {
  user: { id: 583_231, login: 'octocat', name: 'Mona Lisa Octocat' },
  emails: [
    { email: 'old@example.com', primary: false, verified: true },
    { email: 'octocat@example.com', primary: true, verified: true },
  ],
}
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }

/** A server that answers like a GitHub Enterprise Server, as its documentation says. */
export async function startGitHub(t: TestContext) {
  const codes = new Map<string, { readonly challenge: string; readonly redirectUri: string }>()
  const headers: IncomingHttpHeaders[] = []
  let somebody = OCTOCAT

  const server = await serve(t, async (request, response) => {
    const send = (status: number, body: unknown) => response.writeHead(status, JSON_TYPE).end(JSON.stringify(body))
    const isKnown = request.headers.authorization === 'Bearer gho_token' && request.headers['user-agent'] !== undefined
    switch (request.url) {
      case '/login/oauth/access_token': {
        let text = ''
        for await (const chunk of request) text += chunk
        const form = new URLSearchParams(text)
        const given = codes.get(form.get('code') ?? '')
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url')
        const isRight =
          given?.challenge === challenge &&
          form.get('client_secret') === 'secret-of-the-client' &&
          given.redirectUri === form.get('redirect_uri')
        // Errors have status 200.
        if (!isRight) return send(200, { error: 'bad_verification_code', error_description: 'The code passed is incorrect or expired.' })
        return send(200, { access_token: 'gho_token', scope: 'read:user,user:email', token_type: 'bearer' })
      }
      case '/api/v3/user':
      case '/api/v3/user/emails':
        headers.push(request.headers)
        if (!isKnown) return send(401, { message: 'Requires authentication' })
        return send(200, request.url.endsWith('emails') ? somebody.emails : somebody.user)
      default:
        return send(404, { message: 'Not Found' })
    }
  })

  return {
    ...server,
    headers: headers as readonly IncomingHttpHeaders[],
    become(other: Somebody): void {
      somebody = other
    },
    /** Lets the person sign in. Returns where the browser goes then. */
    authorize(url: string): string {
      const { searchParams } = new URL(url)
      const redirectUri = searchParams.get('redirect_uri') ?? ''
      const code = randomUUID()
      codes.set(code, { challenge: searchParams.get('code_challenge') ?? '', redirectUri })
      return `${redirectUri}?${new URLSearchParams({ code, state: searchParams.get('state') ?? '' })}`
    },
  }
}
