#!/usr/bin/env node
// What `npx latchkey` runs. It has to parse on every Node.js, so that an old one is reported in one line and not as a syntax error.
const { engines } = require('../../package.json') as { engines: { node: string } }
const needed = Number(/\d+/.exec(engines.node))
const running = Number(process.versions.node.split('.')[0])

if (running < needed) {
  process.stderr.write(`latchkey: needs Node.js ${needed} or newer, and this is ${process.version}\n`)
  process.exitCode = 1
} else {
  import('./latchkey.ts').then((latchkey) => latchkey.main())
}
