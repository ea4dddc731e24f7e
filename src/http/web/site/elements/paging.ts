import { type Html, html } from '../../../../shared/html.ts'
import { Type } from '../../../validation/schema.ts'
import type { Texts } from '../../texts/texts.ts'

/** How a list is divided into pages with numbers. The first page is number 1. */
type Paging = ReturnType<typeof pagingOf>

export type ListPage<Item> = { readonly items: readonly Item[]; readonly page: number; readonly hasMore: boolean }

export function pagingOf({ size, maxItems }: { readonly size: number; readonly maxItems: number }) {
  return { size, maxPage: Math.ceil(maxItems / size) }
}

/** The number of a page in an address. */
export function pageNumber({ maxPage }: Paging) {
  return Type.Optional(Type.Integer({ minimum: 1, maximum: maxPage }))
}

/**
 * One page of a list. A page beyond the end is answered with the last page: a change may have removed the only item of the page that it
 * leads back to. The highest page that an address may name has no next one.
 */
export function pageOf<Item>(items: readonly Item[], requested = 1, { size, maxPage }: Paging): ListPage<Item> {
  const last = Math.min(maxPage, Math.max(1, Math.ceil(items.length / size)))
  const page = Math.min(requested, last)
  return { items: items.slice((page - 1) * size, page * size), page, hasMore: page < last }
}

/** Like pageOf(), for a list that is read piece by piece. Reads no further than the page needs. */
export async function pageFrom<Item>(
  pieces: AsyncIterable<readonly Item[]>,
  requested: number | undefined,
  paging: Paging,
): Promise<ListPage<Item>> {
  const items: Item[] = []
  for await (const piece of pieces) {
    items.push(...piece)
    if (items.length > (requested ?? 1) * paging.size) break
  }
  return pageOf(items, requested, paging)
}

/** A part of a list without numbers, of which one item more was read. The next part continues after `last`; undefined if there is none. */
export function partOf<Item>(items: readonly Item[], size: number): { readonly shown: readonly Item[]; readonly last: Item | undefined } {
  const shown = items.slice(0, size)
  return { shown, last: items.length > size ? shown.at(-1) : undefined }
}

/** The number of a page for an address that needs none for the first page. */
export function laterPage(page: number | undefined): number | undefined {
  return page === 1 ? undefined : page
}

/** The page of a list as the query of an address, such as the one that a change leads back to. */
export function pagePlace({ page }: { readonly page?: number | undefined }): string {
  return queryText({ page: laterPage(page) })
}

/** Links to the pages before and after this one; nothing for a list that has one page only. */
export function pagesFooter(
  { navigation }: Texts,
  { page, hasMore }: Omit<ListPage<unknown>, 'items'>,
  to: (page: number) => string,
): Html | undefined {
  return stepsFooter({
    back: page > 1 ? stepLink(to(page - 1), navigation.previous) : undefined,
    on: hasMore ? stepLink(to(page + 1), navigation.next) : undefined,
  })
}

/** The links below a list: to what comes before the part that is shown, and to what comes after it. */
export function stepsFooter({ back, on }: { readonly back?: Html | undefined; readonly on?: Html | undefined }): Html | undefined {
  return (back ?? on) && html`<footer class="pages">${back ?? html`<span></span>`}${on}</footer>`
}

/** A step in a list, by the arrow in its text. A list that continues from a place, such as an ID, has no numbers: back leads to its beginning. */
export function stepLink(to: string, text: string): Html {
  const rel = text.startsWith('←') ? html` rel="prev"` : text.endsWith('→') ? html` rel="next"` : undefined
  return html`<a class="button small"${rel} href="${to}">${text}</a>`
}

/** The query of an address, with its question mark. A value that is undefined or empty is left out. */
export function queryText(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, String(value)]]))
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}
