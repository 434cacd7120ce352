import { Type } from 'typebox'

/** Name of a git object. */
export const CommitOid = Type.String({ pattern: '^[a-f0-9]{40}$' })

/** One line of at most 256 characters: what git hosts take for a title. */
export const TitleLine = Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\r\\n]*$' })

/** Prose of a pull request or a commit, at most 65 536 characters and as many bytes (interface 8.3). */
export const Prose = Type.String({ maxLength: 65_536 })
