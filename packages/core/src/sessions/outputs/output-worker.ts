import { parentPort } from 'node:worker_threads'
import { judgeOutput } from './judge-output.ts'

/** A request to judge an answer on the worker thread. */
export interface OutputOrder {
  /** JSON of the schema. */
  readonly schema: string
  readonly answer: string
}

parentPort?.on('message', ({ schema, answer }: OutputOrder) => {
  parentPort?.postMessage(judgeOutput(JSON.parse(schema), answer))
})
parentPort?.postMessage('ready')
