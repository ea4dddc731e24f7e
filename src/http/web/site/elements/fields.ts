import { type Html, html } from '../../../../shared/html.ts'
import type { Answer } from '../../../answers/answers.ts'
import type { TSchema } from '../../../validation/schema.ts'
import { InvalidRequest } from '../../../validation/validation-error.ts'
import { type Label, labelText, type Texts } from '../../texts/texts.ts'
import { fieldMessage, PAGE_ISSUE, personalMessage } from '../messages.ts'

type Field = FieldOptions<string> & { readonly name: string; readonly value?: string | undefined }

type FieldOptions<Text> = {
  readonly label: Text
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'date' | undefined
  readonly autocomplete?: string | undefined
  /** The keyboard that a phone shows. */
  readonly inputMode?: 'numeric' | undefined
  /** The number of lines of a text area. */
  readonly rows?: number | undefined
  /** For a list to choose from. */
  readonly choices?: readonly (readonly [value: string | number, text: string])[] | undefined
  readonly hint?: Text | undefined
  /** The element that describes the field, where that is not the hint. */
  readonly describedBy?: string | undefined
  readonly isOptional?: boolean | undefined
  readonly hasFocus?: boolean | undefined
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  /** For a field that alone is wrong when the credentials are. */
  readonly wrong?: Text | undefined
}

/** A field of a form: what it accepts, and how it is shown. A field without a label is not shown. */
export type FormField = Partial<FieldOptions<Label>> & {
  readonly schema: TSchema
  /** From the link of a mail. The form keeps it, although it is secret: nobody can type it again. */
  readonly isMailed?: true
}
export type FormFields = Readonly<Record<string, FormField>>

/** A form as a page shows it: empty, or again with what was sent and what is wrong. */
export type Form<Name extends string = string> = {
  /** The fields as they were sent, without passwords and codes that were typed. */
  readonly values: Readonly<Record<string, string | undefined>>
  /** The problem with the whole form. */
  readonly problem: Html | undefined
  /** The input of a field. It shows `value` unless another one was sent. */
  field(name: Name, options?: Partial<Field>): Html
}

export function formOf<Fields extends FormFields>(
  texts: Texts,
  fields: Fields,
  values: Form['values'] = {},
  refusal?: Answer,
): Form<keyof Fields & string> {
  const { problems, message } = refusal === undefined ? { problems: {}, message: undefined } : problemsOf(texts, refusal, fields)
  return {
    values,
    problem: formProblem(message),
    field: (name, { value, ...options } = {}) =>
      inputField({ ...shownField(texts, fields[name]), ...options, name, value: values[name] ?? value }, problems),
  }
}

/** A field as it is declared, in the language of its reader. */
export function shownField(texts: Texts, { label = '', hint, wrong, ...field }: Omit<FormField, 'schema'> = {}): FieldOptions<string> {
  const text = (shown: Label | undefined) => (shown === undefined ? undefined : labelText(shown, texts))
  return { ...field, label: labelText(label, texts), hint: text(hint), wrong: text(wrong) }
}

/** A labelled input with its hint or its problem, connected to it for screen readers. Of several problems, the first has the focus. */
export function inputField(field: Field, problems: Readonly<Record<string, string>> = {}): Html {
  const { name, label, hint, choices, isOptional, hasFocus, minLength, maxLength } = field
  const problem = problems[name]
  const [faulty] = Object.keys(problems)
  const isFocused = faulty === undefined ? hasFocus : faulty === name
  const note =
    problem === undefined
      ? hint && html`<p class="hint" id="${name}-hint">${hint}</p>`
      : html`<p class="problem" id="${name}-problem">${problem}</p>`
  const noteId = problem === undefined ? hint && `${name}-hint` : `${name}-problem`
  const describedBy = [field.describedBy, noteId].filter(Boolean).join(' ')
  const rules = html`${attribute('minlength', minLength)}${attribute('maxlength', maxLength)}${attribute('aria-describedby', describedBy || undefined)}${isOptional || choices ? '' : html` required`}${problem === undefined ? '' : html` aria-invalid="true"`}${isFocused ? html` autofocus` : ''}`
  return html`<div class="field">
<label for="${name}">${label}</label>
${controlOf(field, rules)}
${note}
</div>`
}

function controlOf({ name, type = 'text', value, autocomplete = 'off', inputMode, rows, choices }: Field, rules: Html): Html {
  if (choices !== undefined) {
    const isChosen = (choice: string | number) => String(choice) === value
    const options = choices.map(
      ([choice, text]) => html`<option value="${choice}"${isChosen(choice) ? html` selected` : ''}>${text}</option>`,
    )
    return html`<select id="${name}" name="${name}"${rules}>${options}</select>`
  }
  // A browser drops the first line break of a text area.
  if (rows !== undefined) return html`<textarea id="${name}" name="${name}" rows="${rows}" spellcheck="false"${rules}>\n${value}</textarea>`
  return html`<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${attribute('inputmode', inputMode)}${attribute('value', value)}${rules}>`
}

/** The problem with a whole form. */
export function formProblem(message: string | undefined): Html | undefined {
  return message === undefined ? undefined : html`<p class="notice bad" role="alert">${message}</p>\n`
}

/** A form that is one button. */
export function actionForm(action: string, label: string, kind: '' | 'primary' | 'small' = ''): Html {
  return html`<form method="post" action="${action}"><button${kind === '' ? '' : html` class="${kind}"`}>${label}</button></form>`
}

/** The problems that a refused form shows: validation issues belong to their fields, everything else to the form. */
function problemsOf(
  texts: Texts,
  answer: Answer,
  fields: FormFields,
): { readonly problems: Record<string, string>; readonly message: string | undefined } {
  const { code, detail } = answer
  const wrong = Object.entries(fields).flatMap(([name, field]) =>
    field.wrong === undefined ? [] : [[name, labelText(field.wrong, texts)]],
  )
  if (code === 'wrong_credentials' && wrong.length > 0) return { problems: Object.fromEntries(wrong), message: undefined }
  if (typeof detail === 'string') return { problems: {}, message: personalMessage(texts, answer) }
  const problems: Record<string, string> = {}
  const others: string[] = []
  for (const issue of detail) {
    const name = String(issue.loc[1] ?? '')
    const declared = fields[name]?.label
    const label = declared && labelText(declared, texts)
    const text = fieldMessage(texts, issue, label)
    if (label !== undefined) problems[name] ??= text
    else others.push(text)
  }
  const faulty = Object.keys(problems).length
  const summary = faulty === 1 ? texts.errors.oneField : texts.errors.someFields
  return { problems, message: others[0] ?? (faulty === 0 ? undefined : summary) }
}

/** Refuses a form because of one field, for a reason that no schema knows, in the language of its reader. */
export function invalidField(name: string, message: string): InvalidRequest {
  return new InvalidRequest([{ loc: ['body', name], type: PAGE_ISSUE, msg: message }])
}

function attribute(name: string, value: string | number | undefined): Html | undefined {
  // The names are those above, never input.
  return value === undefined ? undefined : html` ${name}="${value}"`
}
