type Found = { readonly at: number; readonly message: string }

// A comment, an element whose content is not markup, or a tag with its quoted attributes.
const MARKUP = /<!--[\s\S]*?(?:-->|$)|<(style|script)\b[\s\S]*?(?:<\/\1\s*>|$)|<\/?[a-z](?:"[^"]*"|'[^']*'|[^"'>])*(?:>|$)/gi
const ATTRIBUTE = /([^\s"'<>=/]+)\s*=\s*("[^"]*"|'[^']*')/g
const PLACEHOLDER = /\{\{\s*([a-z_]+)\s*\}\}/g
const URL_ATTRIBUTE = /^(?:href|src|action|formaction|background|poster|srcset|xlink:href)$/i
const EVENT_ATTRIBUTE = /^on/i
const URLS: readonly string[] = ['link', 'logo']
const COLORS: readonly string[] = ['brand_color', 'brand_text_color']

/** Reports placeholders in places where escaping does not protect against the value, such as an attribute without quotes. */
export function findMarkupProblems(source: string): readonly Found[] {
  return [...source.matchAll(MARKUP)].flatMap(({ 0: markup, 1: element, index }) => {
    const name = element?.toLowerCase()
    if (name === 'script') return [{ at: index, message: 'should not contain a script: mail programs do not run it' }]
    if (name === 'style') return misplaced(markup, index, COLORS, 'a style sheet')
    if (markup.startsWith('<!--')) return misplaced(markup, index, [], 'a comment')
    return findTagProblems(markup, index)
  })
}

function findTagProblems(tag: string, start: number): Found[] {
  const found: Found[] = []
  // The quoted values are replaced by spaces, so that what remains is not in quotes.
  let unquoted = tag
  for (const { 0: attribute, 1: name = '', 2: value = '', index } of tag.matchAll(ATTRIBUTE)) {
    unquoted = unquoted.slice(0, index) + ' '.repeat(attribute.length) + unquoted.slice(index + attribute.length)
    const at = start + index
    if (EVENT_ATTRIBUTE.test(name)) found.push(...misplaced(attribute, at, [], `the attribute ${name}`))
    const [, first] = /^["']\s*\{\{\s*([a-z_]+)/.exec(value) ?? []
    if (URL_ATTRIBUTE.test(name) && first !== undefined && !URLS.includes(first))
      found.push({ at, message: `{{${first}}} is not an address and should not begin the attribute ${name}` })
  }
  return [...found, ...misplaced(unquoted, start, [], 'a tag, outside of the quotes of an attribute')]
}

function misplaced(text: string, start: number, allowed: readonly string[], place: string): Found[] {
  return [...text.matchAll(PLACEHOLDER)]
    .filter(([, name = '']) => !allowed.includes(name))
    .map(({ 0: placeholder, index }) => ({ at: start + index, message: `${placeholder} should not be in ${place}` }))
}
