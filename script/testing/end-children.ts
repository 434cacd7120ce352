import { afterAll } from 'vitest'
import { endChildren } from './spawn.ts'

// Set up before a file's own hooks, this runs behind all of them.
afterAll(endChildren)
