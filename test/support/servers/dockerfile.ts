import { readFileSync } from 'node:fs'

export type Instruction = { readonly name: string; readonly text: string }
export type Stage = { readonly name: string; readonly image: string; readonly instructions: readonly Instruction[] }

/** The stages of a Dockerfile with their instructions, in order. */
export function readDockerfile(file: string): Stage[] {
  const text = readFileSync(file, 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
  const stages: { name: string; image: string; instructions: Instruction[] }[] = []
  for (const line of text.split('\n').filter((candidate) => candidate.trim() !== '')) {
    const [, name = '', rest = ''] = /^(\w+) (.*)$/.exec(line) ?? []
    const [, image = '', alias = ''] = (name === 'FROM' && /^(\S+)(?: AS (\S+))?$/.exec(rest)) || []
    if (name === 'FROM') stages.push({ name: alias, image, instructions: [] })
    else stages.at(-1)?.instructions.push({ name, text: rest })
  }
  return stages
}

/** The command of an instruction in its exec form. */
export function execForm(stage: Stage, name: string): string[] {
  const text = stage.instructions.find((instruction) => instruction.name === name)?.text ?? ''
  // Each of them is a JSON list of strings.
  return JSON.parse(text.slice(text.indexOf('['))) as string[]
}
