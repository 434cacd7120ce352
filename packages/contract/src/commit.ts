import { Type } from 'typebox'

/** Id of a git object. */
export const CommitOid = Type.String({ pattern: '^[a-f0-9]{40}$' })

/** One line of at most 256 characters, the longest title that Git hosts accept. */
export const TitleLine = Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\r\\n]*$' })

/** Text of a pull request or a commit, at most 65 536 characters and as many bytes. */
export const Prose = Type.String({ maxLength: 65_536 })
