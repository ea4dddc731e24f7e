import { type Html, html } from '../../../../shared/html.ts'
import type { Answer } from '../../../answers/answers.ts'
import { fieldMessage, personalMessage } from '../messages.ts'

/** What is wrong with a form: by field, or with the whole of it. */
export type Problems = {
  readonly fields: Readonly<Record<string, string>>
  readonly message: string | undefined
  /** For a form that has its own text for an error. */
  readonly answer?: Answer
}

export const NO_PROBLEMS: Problems = { fields: {}, message: undefined }

export type Field = {
  readonly name: string
  readonly label: string
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'date' | undefined
  readonly value?: string | undefined
  readonly autocomplete?: string | undefined
  readonly hint?: string | undefined
  /** The element that describes the field, where that is not the hint. */
  readonly describedBy?: string | undefined
  readonly isOptional?: boolean | undefined
  readonly hasFocus?: boolean | undefined
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
}

/** A labelled input with its hint or its problem, connected to it for screen readers. Of several problems, the first has the focus. */
export function inputField(field: Field, { fields }: Problems = NO_PROBLEMS): Html {
  const { name, label, type = 'text', value, autocomplete = 'off', hint, isOptional, hasFocus, minLength, maxLength } = field
  const problem = fields[name]
  const [faulty] = Object.keys(fields)
  const isFocused = faulty === undefined ? hasFocus : faulty === name
  const note =
    problem === undefined
      ? hint && html`<p class="hint" id="${name}-hint">${hint}</p>`
      : html`<p class="problem" id="${name}-problem">${problem}</p>`
  const noteId = problem === undefined ? hint && `${name}-hint` : `${name}-problem`
  const describedBy = [field.describedBy, noteId].filter(Boolean).join(' ')
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${attribute('value', value)}${attribute('minlength', minLength)}${attribute('maxlength', maxLength)}${attribute('aria-describedby', describedBy || undefined)}${isOptional ? '' : html` required`}${problem === undefined ? '' : html` aria-invalid="true"`}${isFocused ? html` autofocus` : ''}>
${note}
</div>`
}

/** The problem with a whole form. */
export function formProblem({ message }: Problems): Html | undefined {
  return message === undefined ? undefined : html`<p class="notice bad" role="alert">${message}</p>\n`
}

/** A form that is one button. */
export function actionForm(action: string, label: string, kind: '' | 'primary' | 'danger' | 'small' | 'small danger' = ''): Html {
  return html`<form method="post" action="${action}"><button${kind === '' ? '' : html` class="${kind}"`}>${label}</button></form>`
}

/** The problems that a refused form shows: validation issues belong to their fields, everything else to the form. */
export function problemsOf(answer: Answer, labels: Readonly<Record<string, string>> = {}): Problems {
  const { detail } = answer
  if (typeof detail === 'string') return { answer, fields: {}, message: personalMessage(answer) }
  const fields: Record<string, string> = {}
  const others: string[] = []
  for (const issue of detail) {
    const name = String(issue.loc[1] ?? '')
    const text = fieldMessage(issue, labels[name])
    if (name in labels) fields[name] ??= text
    else others.push(text)
  }
  return { answer, fields, message: others[0] ?? summaryOf(Object.keys(fields).length) }
}

function summaryOf(faulty: number): string | undefined {
  if (faulty === 0) return undefined
  return faulty === 1 ? 'One field needs to be corrected.' : 'Some fields need to be corrected.'
}

function attribute(name: string, value: string | number | undefined): Html | undefined {
  // The names are those above, never input.
  return value === undefined ? undefined : html` ${name}="${value}"`
}
