import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MAIL_KINDS, type MailKind } from '../../model/mail.ts'
import { explainUnreadable } from '../../shared/errors.ts'
import { parseTemplate } from './parse-template.ts'
import { MAIL_PARTS, type MailPart, type Template, templateFileName } from './template.ts'

/** The templates of the operator, by kind and part of a mail. A part without a template keeps its built-in text. */
export type Templates = Readonly<Partial<Record<MailKind, Readonly<Partial<Record<MailPart, Template>>>>>>

export const NO_TEMPLATES: Templates = {}

// Gmail cuts off longer mails.
const MAX_BYTES = 102_400
const FILES = MAIL_KINDS.flatMap((kind) => MAIL_PARTS.map((part) => ({ kind, part, name: templateFileName(kind, part) })))

/** Reads the files of TEMPLATES_DIR. The errors are one line each and begin with the file and the line. */
export async function openTemplates(
  folder: string,
  { hasLogo }: { readonly hasLogo: boolean },
): Promise<{ templates: Templates; errors: readonly string[] }> {
  const errors: string[] = []
  const templates: Partial<Record<MailKind, Partial<Record<MailPart, Template>>>> = {}
  for (const name of await namesIn(folder, errors)) {
    const file = join(folder, name)
    const found = FILES.find((candidate) => candidate.name === name)
    if (found === undefined) {
      errors.push(`${file}:1: is not the name of a template; the names are ${FILES.map((known) => known.name).join(', ')}`)
      continue
    }
    const source = await readText(file).catch((error: unknown) => void errors.push(`${file}:1: ${explainUnreadable(error)}`))
    if (source === undefined) continue
    const { template, problems } = parseTemplate(source, { ...found, hasLogo })
    errors.push(...problems.map(({ line, message }) => `${file}:${line}: ${message}`))
    templates[found.kind] = { ...templates[found.kind], [found.part]: template }
  }
  return { templates, errors }
}

/** Hidden files are ignored: version control, editors and mounted volumes create them. */
async function namesIn(folder: string, errors: string[]): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.')).sort()
  } catch (error) {
    errors.push(`${folder} ${explainUnreadable(error, { ENOTDIR: 'is not a folder' })}`)
    return []
  }
}

async function readText(file: string): Promise<string> {
  const { size } = await statFile(file)
  if (size > MAX_BYTES) throw new Error(`should have at most ${MAX_BYTES / 1024} KB, because mail programs cut off longer mails`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file)).replaceAll('\r\n', '\n')
  } catch (error) {
    if (error instanceof TypeError) throw new Error('should be UTF-8 text')
    throw error
  }
}

async function statFile(file: string): Promise<{ readonly size: number }> {
  const found = await stat(file)
  if (!found.isFile()) throw new Error('should be a file')
  return found
}
