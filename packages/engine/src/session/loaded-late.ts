/** Everything that loads after the answer to `initialize`. */
export { EngineSession } from './engine-session.ts'
export { rehearse } from './rehearsal.ts'
