/** The element with this id. */
export const element = (id) => document.getElementById(id)

/** Calls `submit` with the fields of a form, and keeps its button disabled until that has ended. */
export function onSubmit(id, submit) {
  element(id).addEventListener('submit', (event) => {
    event.preventDefault()
    const form = event.target
    run(form.querySelector('button'), async () => {
      await submit(Object.fromEntries(new FormData(form)))
      form.reset()
    })
  })
}

export function onClick(button, action) {
  button.addEventListener('click', () => run(button, action))
}

async function run(button, action) {
  button.disabled = true
  say('')
  try {
    await action()
  } catch (error) {
    // The issues of a form say what is wrong with which field.
    say(error.issues?.map(({ msg }) => msg).join('. ') ?? error.message, 'bad')
  }
  button.disabled = false
}

export function say(text, kind = '') {
  element('message').textContent = text
  element('message').className = kind
  element('message').hidden = text === ''
}

/** Shows items as a list. Each has a text, a remark below it and buttons. */
export function showList(id, items) {
  element(id).replaceChildren(
    ...items.map(({ text, remark, buttons = {} }) => {
      const li = document.createElement('li')
      const span = document.createElement('span')
      span.className = 'text'
      span.textContent = text
      const small = document.createElement('small')
      small.textContent = remark
      span.append(small)
      li.append(span)
      for (const [label, action] of Object.entries(buttons)) {
        const button = document.createElement('button')
        button.className = 'quiet'
        button.textContent = label
        button.setAttribute('aria-label', `${label} ${text}`)
        onClick(button, action)
        li.append(button)
      }
      return li
    }),
  )
}
