import { createHash } from 'node:crypto'

/** Names a statement by its text, so that each connection plans each of its few shapes once. */
export const statementName = (stem: string, text: string): string =>
  `${stem}-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
