import type { Command } from 'commander'

/** Adds options that all have to be given. Commander would report the first missing one only. */
export function requireOptions(command: Command, options: Readonly<Record<string, string>>): Command {
  return requireSome(command, options, ' (required)', (missing) => {
    if (missing.length > 0) command.error(`error: missing ${missing.length === 1 ? 'option' : 'options'}: ${missing.join(', ')}`)
  })
}

/** Adds options of which at least one has to be given. */
export function requireOneOf(command: Command, options: Readonly<Record<string, string>>): Command {
  const all = Object.keys(options)
  return requireSome(command, options, '', (missing) => {
    if (missing.length === all.length) command.error(`error: missing option: give at least one of ${all.join(', ')}`)
  })
}

function requireSome(
  command: Command,
  options: Readonly<Record<string, string>>,
  note: string,
  judge: (missing: readonly string[]) => void,
): Command {
  for (const [flags, description] of Object.entries(options)) command.option(flags, description + note)
  const isMissing = (flags: string) => {
    const option = command.options.find((candidate) => candidate.flags === flags)
    return option !== undefined && command.getOptionValue(option.attributeName()) === undefined
  }
  return command.hook('preAction', () => judge(Object.keys(options).filter(isMissing)))
}
