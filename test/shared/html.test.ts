import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Html, html, renderHtml } from '../../src/shared/html.ts'

test('every value of a template is escaped, in content and in attributes', () => {
  const hostile = `<script>"&'</script>`
  const escaped = '&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;'
  assert.equal(renderHtml(html`<p title="${hostile}">${hostile} ${7}</p>`), `<p title="${escaped}">${escaped} 7</p>`)
})

test('HTML inside a template is not escaped again, lists and absent values included', () => {
  const items = ['a&b', '<c>'].map((text) => html`<li>${text}</li>`)
  assert.equal(renderHtml(html`<ul>${items}</ul>${undefined}${[]}`), '<ul><li>a&amp;b</li>\n<li>&lt;c&gt;</li></ul>')
})

test('a bare string, or an object that looks like HTML, does not compile as HTML', () => {
  // @ts-expect-error a string does not compile
  const text: Html = '<b>'
  // @ts-expect-error nor does any other object
  const object: Html = { html: '<b>' }
  // A cast that circumvents the types still produces no markup.
  assert.equal(renderHtml(html`${text}`), '&lt;b&gt;')
  assert.throws(() => html`${object}`)
})
