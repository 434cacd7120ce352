/** A name and an email, as git writes them into a commit. */
export interface GitIdentity {
  readonly name: string
  readonly email: string
}

/** Signs commits in the name of the deployment. */
export interface CommitSigner {
  /** The public key in the form in which Git hosts take it. */
  readonly publicKey: string
  /** Returns the armored signature of the text of a commit. */
  sign(text: string): Promise<string>
}

/** The deployment as git knows it: the committer of its commits, and the key that signs them, if it has one. */
export interface CommitApp {
  readonly identity: GitIdentity
  readonly signer: CommitSigner | null
}

/** The deployment's identity if its configuration names none. */
export const defaultIdentity: GitIdentity = { name: 'Berth', email: 'berth@localhost' }

/** Returns an identity without the characters that would end it within a commit; null if nothing of its email is left. */
export function cleanIdentity({ name, email }: GitIdentity): GitIdentity | null {
  const clean = (text: string): string =>
    text
      .replace(/[\p{Cc}<>]+/gu, ' ')
      .replace(/\s+/g, ' ')
      .trim()
  const address = clean(email).replaceAll(' ', '')
  return address === '' ? null : { name: clean(name) || address, email: address }
}
