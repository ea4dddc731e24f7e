/** What a command was asked for goes to standard output, so that a script can use it. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
