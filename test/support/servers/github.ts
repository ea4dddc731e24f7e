import { createHash, randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
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

type Codes = Map<string, { readonly challenge: string; readonly redirectUri: string }>

/** A server that answers like a GitHub Enterprise Server, as its documentation says. */
export async function startGitHub(t: TestContext) {
  const codes: Codes = new Map()
  const headers: IncomingHttpHeaders[] = []
  let somebody = OCTOCAT

  const server = await serve(t, async (request, response) => {
    const send = (status: number, body: unknown) => response.writeHead(status, JSON_TYPE).end(JSON.stringify(body))
    const isKnown = request.headers.authorization === 'Bearer gho_token' && request.headers['user-agent'] !== undefined
    switch (request.url) {
      case '/login/oauth/access_token': {
        const isRight = isRightCode(new URLSearchParams(await bodyOf(request)), codes)
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

function isRightCode(form: URLSearchParams, codes: Codes): boolean {
  const given = codes.get(form.get('code') ?? '')
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url')
  const isClient = form.get('client_secret') === 'secret-of-the-client'
  return isClient && given?.challenge === challenge && given.redirectUri === form.get('redirect_uri')
}

/** The body of a request, as text. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
