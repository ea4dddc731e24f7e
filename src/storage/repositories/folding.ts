/**
 * Text as search sees it: in lower case, so that case does not matter. What is stored and what is looked for go through this
 * one function, and neither database folds anything itself: they would not agree, nor know more than ASCII in SQLite's case.
 */
export function fold(text: string): string {
  // The Greek sigma has two lower cases, by its place in a word; to a searcher they are one letter.
  return text.toLowerCase().replaceAll('ς', 'σ')
}
