import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { toolServer } from './tool-server.ts'

serveStdio(toolServer, { legacy: process.argv[2] === 'new' ? 'reject' : 'serve' })
