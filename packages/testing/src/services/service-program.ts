/**
 * The service as it is installed, with other values of those that no operator sets: the JSON of the first argument. The
 * environment holds its settings.
 */
import { serve } from '@berth/server/main'

process.exitCode = await serve(process.env, JSON.parse(process.argv[2] ?? '{}'))
