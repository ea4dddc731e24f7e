/** The implementation, its key or its mailbox cannot be used, or no such check exists. Nothing was checked. */
export class Unusable extends Error {
  override readonly name = 'Unusable'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}
