/**
 * Converts text to lower case for a search that ignores case. Both stored text and search terms pass through this function. The
 * databases fold nothing themselves: their results would differ, and SQLite knows only ASCII.
 */
export function fold(text: string): string {
  // The Greek sigma has two lower-case forms, depending on its position in a word. A search treats them as one letter.
  return text.toLowerCase().replaceAll('ς', 'σ')
}
