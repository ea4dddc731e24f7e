import type { Config } from '../config/load.ts'
import { weakSettings } from '../config/posture.ts'
import { about, type Finding } from './finding.ts'

const PRODUCTION = about('production')

/** Warns about settings that are too weak for a public address. */
export function checkPosture(config: Config): readonly Finding[] {
  return weakSettings(config).flatMap(({ name, value, problem }) => PRODUCTION.warning(`${name} ${problem}`, `Set ${name} to ${value}.`))
}
