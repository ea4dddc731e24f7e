import { connect } from 'node:net'

/** Sends bytes to this machine, and returns all that comes back until the service closes the connection. */
export function rawAnswer(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    let answer = ''
    socket.on('data', (data) => {
      answer += data
    })
    socket.on('end', () => resolve(answer))
    socket.on('error', reject)
  })
}

/** Asks with HEAD, and returns every byte that comes back. `fetch` ignores a body here, which proxies take for the next answer. */
export async function headAnswer(url: string, headers: Readonly<Record<string, string>> = {}) {
  const { host, port, pathname, search } = new URL(url)
  const lines = Object.entries({ host, connection: 'close', ...headers }).map(([name, value]) => `${name}: ${value}`)
  const answer = await rawAnswer(Number(port), [`HEAD ${pathname}${search} HTTP/1.1`, ...lines, '', ''].join('\r\n'))
  const end = answer.indexOf('\r\n\r\n') + 4
  const head = answer.slice(0, end)
  const header = (name: string) => new RegExp(`^${name}: (.*)\r$`, 'im').exec(head)?.[1]
  return { status: Number(head.split(' ', 2)[1]), header, body: answer.slice(end) }
}
