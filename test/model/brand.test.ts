import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brandColors, contrastOf } from '../../src/model/brand.ts'
import { readLogo } from '../../src/process/branding.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { makePng } from '../support/servers/png.ts'

const LIGHT_GROUNDS = ['#ffffff', '#f4f5f7', '#f3f5f8']
const DARK_GROUNDS = ['#0f1216', '#12161c', '#191e25', '#1b212a']
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>'

/** 9³ colours, evenly spread over all of them. */
const COLORS = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((red, _, levels) =>
  levels.flatMap((green) =>
    levels.map(
      (blue) =>
        `#${[red, green, blue]
          .map((level) =>
            Math.min(255, level * 32)
              .toString(16)
              .padStart(2, '0'),
          )
          .join('')}`,
    ),
  ),
)

test('text in a brand colour and text on it stay readable in both schemes, whatever the colour', () => {
  for (const color of COLORS) {
    const { light, dark } = brandColors(color)
    for (const [{ fill, onFill, text }, grounds] of [
      [light, LIGHT_GROUNDS],
      [dark, DARK_GROUNDS],
    ] as const) {
      assert.ok(contrastOf(fill, onFill) >= 4.5, `${onFill} on ${fill}, from ${color}`)
      for (const ground of grounds) {
        assert.ok(contrastOf(text, ground) >= 4.5, `${text} on ${ground}, from ${color}`)
        assert.ok(contrastOf(fill, ground) >= 1.2, `${fill} disappears on ${ground}`)
      }
    }
  }
})

test('a brand colour that is readable is kept', () => {
  assert.deepEqual(brandColors('#1f5eff').light, { fill: '#1f5eff', onFill: '#ffffff', text: '#1f5eff' })
  assert.equal(brandColors('#ffd400').light.fill, '#ffd400')
  assert.equal(brandColors('#ffd400').light.onFill, '#000000')
})

function fileWith(t: TestContext, content: string | Buffer): string {
  const file = join(temporaryFolder(t), 'logo')
  writeFileSync(file, content)
  return file
}

test('a logo is a PNG or an SVG file', async (t) => {
  const png = makePng(120, 40)
  assert.deepEqual(await readLogo(fileWith(t, png)), { type: 'png', bytes: png, width: 120, height: 40 })
  for (const svg of [SVG, `\uFEFF<?xml version="1.0"?>\n<!-- a > b -->\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x">\n${SVG}`])
    assert.deepEqual(await readLogo(fileWith(t, svg)), { type: 'svg', bytes: Buffer.from(svg) })
})

/** What is not a logo, and why. */
const REFUSED: readonly (readonly [string, string | Buffer, RegExp])[] = [
  ['an empty file', '', /^is neither a PNG file nor an SVG file$/],
  ['a page', '<!doctype html><svg xmlns="http://www.w3.org/2000/svg"></svg>', /^is neither/],
  ['a JPEG file', Buffer.from([0xff, 0xd8, 0xff, 0xe0]), /^is neither/],
  ['a compressed SVG file', Buffer.from([0x1f, 0x8b, 8, 0]), /^is neither/],
  ['an SVG file with entities', `<!DOCTYPE svg [<!ENTITY a "b">]>${SVG}`, /^is neither/],
  ['an SVG file without its namespace', '<svg viewBox="0 0 1 1"></svg>', /^should have xmlns=/],
  ['a PNG file that was cut', makePng(10, 10).subarray(0, 20), /^is a damaged PNG file$/],
  ['a huge PNG image', makePng(5000, 10), /^should have 1 to 4096 pixels on each side, has 5000 × 10$/],
  ['a large file', Buffer.alloc(65_537), /^should have at most 64 KB, has 65 KB$/],
]

for (const [what, content, reason] of REFUSED) {
  test(`${what} is not a logo`, async (t) => {
    await assert.rejects(readLogo(fileWith(t, content)), (error) => error instanceof Error && reason.test(error.message))
  })
}
