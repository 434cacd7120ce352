import { errors } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'

/**
 * Translates a refusal of the API for the operator who asked.
 *
 * @throws StartError with the cause that the contract gives for the code
 */
export async function translated<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const kind = Object.entries(errors).find(([code]) => code === error.code)?.[1]
    throw new StartError(kind?.cause ?? error.code, { cause: error })
  }
}

/** @throws StartError if the text is no email */
export function requireEmail(text: string): string {
  if (text.length > 254 || !/^[^\s@]+@[^\s@]+$/.test(text)) throw new StartError(`${JSON.stringify(text)} is no email`)
  return text
}

/** @throws StartError if the text is no name */
export function requireName(text: string): string {
  const name = text.trim()
  if (!/^\P{Cc}{1,100}$/u.test(name)) throw new StartError('a name is one line of 1 to 100 characters')
  return name
}
