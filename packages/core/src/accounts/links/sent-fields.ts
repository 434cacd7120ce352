/** Characters of a password. The upper bound keeps a form small; argon2id costs the same for any length. */
export const passwordLength = { min: 12, max: 1024 } as const

/** Returns why a new password is not accepted, or null. */
export function passwordFault(password: string, email: string): string | null {
  const length = [...password].length
  if (length < passwordLength.min) return `A password has at least ${passwordLength.min} characters.`
  if (length > passwordLength.max) return `A password has at most ${passwordLength.max} characters.`
  return password.toLowerCase() === email.toLowerCase() ? 'Your email is not a password.' : null
}

/** Returns why a name is not accepted, or null. */
export function nameFault(name: string): string | null {
  return /^\P{Cc}{1,100}$/u.test(name) ? null : 'Write your name, in at most 100 characters.'
}
