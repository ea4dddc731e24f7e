import { DatabaseSync } from 'node:sqlite'

// Holds the write lock of a SQLite file until standard input ends.
const connection = new DatabaseSync(process.argv[2] ?? '', { timeout: 5000 })
connection.exec('begin immediate')
process.stdout.write('locked')
process.stdin.resume().once('end', () => {
  connection.exec('rollback')
  connection.close()
})
