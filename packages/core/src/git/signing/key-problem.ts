/** A key that cannot sign commits. The message follows the name of its place, such as `commits.signingKey`. */
export class KeyProblem extends Error {
  override readonly name = 'KeyProblem'
}
