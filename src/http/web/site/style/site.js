// Everything works without this script. It adds what only a script can do.

/** Copies the text of an element. Without https there is no clipboard, and the older way copies what is selected. */
async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent)
    return true
  } catch {
    if (source.select) source.select()
    else getSelection().selectAllChildren(source)
    return document.execCommand('copy')
  }
}

/** `<button data-copy="id">`: copies the text of that element. Hidden until here, because it needs the script. */
for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    const isCopied = await copy(document.getElementById(button.dataset.copy))
    const label = button.textContent
    button.textContent = isCopied ? 'Copied' : 'Selected'
    setTimeout(() => {
      button.textContent = label
    }, 2000)
  })
}

/** A form is sent once, however often its button is pressed. A download, which stays on the page, may be repeated. */
for (const form of document.querySelectorAll('form[method="post"]:not([data-download])')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.sent) event.preventDefault()
    form.dataset.sent = 'yes'
  })
}

/** A page that comes back from the history may be sent again. */
addEventListener('pageshow', (event) => {
  if (!event.persisted) return
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent
})
