import { type Html, html } from '../../../shared/html.ts'
import type { Answer } from '../../answers/answers.ts'

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

/** A labelled input with its hint and its problem, both connected to it for screen readers. */
export function inputField(field: Field, { fields }: Problems = NO_PROBLEMS): Html {
  const { name, label, type = 'text', value, autocomplete = 'off', hint, isOptional, hasFocus, minLength, maxLength } = field
  const problem = fields[name]
  const describedBy = [field.describedBy, hint && `${name}-hint`, problem && `${name}-problem`].filter(Boolean).join(' ')
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${attribute('value', value)}${attribute('minlength', minLength)}${attribute('maxlength', maxLength)}${attribute('aria-describedby', describedBy || undefined)}${isOptional ? '' : html` required`}${problem === undefined ? '' : html` aria-invalid="true"`}${hasFocus ? html` autofocus` : ''}>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}${problem && html`<p class="problem" id="${name}-problem">${problem}</p>`}
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
  if (typeof detail === 'string') return { answer, fields: {}, message: detail }
  const fields: Record<string, string> = {}
  const others: string[] = []
  for (const { loc, msg } of detail) {
    const name = String(loc[1] ?? '')
    const text = msg.replace(/^Value error, /, '').replace(/^String should/, `${labels[name] ?? 'This'} should`)
    if (name in labels) fields[name] ??= text
    else others.push(text)
  }
  return { answer, fields, message: others[0] ?? (Object.keys(fields).length > 0 ? 'Some fields need to be corrected.' : undefined) }
}

function attribute(name: string, value: string | number | undefined): Html | undefined {
  // The names are those above, never input.
  return value === undefined ? undefined : html` ${name}="${value}"`
}
