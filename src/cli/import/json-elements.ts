import { createStructure, type JsonStructure } from './json-structure.ts'
import { createRecordBuffer, type FileRecord, readChunks, readJson } from './records.ts'

/**
 * Reads the elements of one list of a JSON file, without holding the file in memory: the list that is the file, or the one with this name
 * in the object that is the file. Everything beside the list is passed over.
 */
export async function* readElements(file: string, listName?: string): AsyncGenerator<readonly FileRecord[]> {
  const structure = createStructure(listName)
  const readChunk = createChunkReader(structure)
  for await (const chunk of readChunks(file)) {
    const records = readChunk(chunk)
    if (records.length > 0) yield records
  }
  structure.requireComplete()
}

/** Returns a function that reads the elements which end in a chunk, and keeps the beginning of the one that does not. */
function createChunkReader(structure: JsonStructure): (chunk: Buffer) => FileRecord[] {
  const buffer = createRecordBuffer(readJson)
  /** The line on which the element that is being read begins. */
  let firstLine: number | undefined
  return (chunk) => {
    const records: (FileRecord | undefined)[] = []
    let start = 0
    for (let place = 0; place < chunk.length; place++) {
      const mark = structure.step(chunk[place] ?? 0)
      if (mark === 'begins') {
        firstLine = structure.line()
        start = place
      } else if (mark === 'ends' && firstLine !== undefined) {
        records.push(buffer.complete(firstLine, chunk.subarray(start, place)))
        firstLine = undefined
      }
    }
    if (firstLine !== undefined) buffer.hold(chunk.subarray(start))
    return records.filter((record) => record !== undefined)
  }
}
