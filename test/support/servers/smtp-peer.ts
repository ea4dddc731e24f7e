import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { boundPort } from '../../../src/shared/addresses.ts'
import { eventually } from '../app/eventually.ts'
import { type ReceivedMail, readMail } from '../app/mailbox.ts'

type Delivery = {
  readonly from: string
  readonly to: string[]
  readonly user: string | undefined
  readonly secure: boolean
  readonly mail: ReceivedMail
}

export type SmtpPeer = Awaited<ReturnType<typeof startSmtpPeer>>

type SmtpPeerOptions = {
  readonly port?: number
  /** The reply that rejects RCPT TO. */
  readonly refuseRecipient?: (address: string) => string | undefined
  /** The reply that rejects the message; `drop` closes the connection in the middle of it. */
  readonly refuseMessage?: () => string | undefined
  /** The delay of the replies to RCPT TO and to the message. */
  readonly delayMs?: number
  readonly login?: { readonly user: string; readonly password: string }
  readonly tls?: { readonly key: string; readonly cert: string; readonly fromTheStart: boolean }
}

/** A real SMTP server on a real socket. */
export async function startSmtpPeer(t: TestContext, options: SmtpPeerOptions = {}) {
  const deliveries: Delivery[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const later = (answer: () => void) => void setTimeout(answer, options.delayMs ?? 0).unref()
  const server = new SMTPServer({
    ...access(options),
    closeTimeout: 10,
    onRcptTo: ({ address }, _session, callback) => later(() => callback(toReply(options.refuseRecipient?.(address)))),
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      const reply = options.refuseMessage?.()
      stream.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        if (reply === 'drop') for (const socket of sockets) socket.destroy()
      })
      stream.on('end', async () => {
        if (reply !== undefined) return callback(toReply(reply))
        const { mailFrom, rcptTo } = session.envelope
        const mail = await readMail(Buffer.concat(chunks))
        const from = mailFrom === false ? '' : mailFrom.address
        deliveries.push({ from, to: rcptTo.map(({ address }) => address), user: session.user, secure: session.secure, mail })
        later(callback)
      })
    },
  })
  server.on('error', () => undefined)
  const listener = server.listen(options.port ?? 0, '127.0.0.1')
  listener.on('connection', (socket) => {
    connections++
    sockets.add(socket)
  })
  await once(listener, 'listening')
  const port = boundPort(listener)
  const stop = async () => {
    // Node.js crashes if the socket below a TLS connection is destroyed after a handshake that failed. The server closes those itself.
    if (!options.tls?.fromTheStart) for (const socket of sockets) socket.destroy()
    if (listener.listening) await new Promise<void>((done) => server.close(done))
  }
  t.after(stop)
  const scheme = options.tls?.fromTheStart ? 'smtps' : 'smtp'
  return { port, url: `${scheme}://localhost:${port}`, deliveries, connections: () => connections, stop }
}

function access({ login, tls }: SmtpPeerOptions): SMTPServerOptions {
  const withTls: SMTPServerOptions = tls ? { key: tls.key, cert: tls.cert, secure: tls.fromTheStart } : {}
  const disabledCommands = [...(login ? [] : ['AUTH']), ...(tls ? [] : ['STARTTLS'])]
  if (!login) return { ...withTls, disabledCommands, authOptional: true }
  return {
    ...withTls,
    disabledCommands,
    allowInsecureAuth: true,
    onAuth({ username, password }, _session, callback) {
      if (username === login.user && password === login.password) callback(null, { user: username })
      else callback(toReply('535 5.7.8 wrong user name or password'))
    },
  }
}

function toReply(reply: string | undefined): Error | null {
  return reply === undefined ? null : Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) })
}

/** The code in the newest mail with a link to this path, as soon as it has arrived. */
export function codeFor({ deliveries }: SmtpPeer, email: string, path: string): Promise<string> {
  return eventually(
    `a mail with ${path} for ${email}`,
    async () => deliveries.findLast(({ to, mail }) => String(to) === email && mail.link.includes(path))?.mail.code,
  )
}
