export { answerOverHttp, serveOverStdio } from './serve.ts'
export type { ToolCaller } from './tool.ts'
