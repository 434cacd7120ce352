import { ScriptedService } from '/work/main/packages/cli/test/scripted-service.ts'
import { spawn } from 'node:child_process'
const wait = (ms: number) => new Promise(r => setTimeout(r, ms))
const service = await ScriptedService.start(({ path }) => { if (path.endsWith('/cancel')) setTimeout(() => service.tell('svc.run.cancelled', { stopReason: 'aborted' }), 500) })
const node = process.argv[2] ?? process.execPath
const py = `
import pty,os,sys,time,threading
pid,fd=pty.fork()
if pid==0:
    os.execvp(sys.argv[1], sys.argv[1:])
def intr():
    time.sleep(3.0); os.write(fd,b'\\x03')
threading.Thread(target=intr,daemon=True).start()
out=b''
while True:
    try: d=os.read(fd,4096)
    except OSError: break
    if not d: break
    out+=d
_,st=os.waitpid(pid,0)
sys.stdout.write(repr(out).replace('\\\\r\\\\n','\\n')+'\\nexit '+str(os.waitstatus_to_exitcode(st))+'\\n')
`
const child = spawn('python3', ['-c', py, node, '/work/main/packages/cli/bin/berth.js', 'run', '--follow', 'hi'], { env: { ...process.env, ...service.env, TERM: 'xterm' }, stdio: ['ignore', 'inherit', 'inherit'] })
await wait(1200)
service.tell('svc.run.started', { attempt: 1 })
await wait(250)
service.tell('svc.run.progress', { activityId: 'a', name: 'bash', status: 'started' })
await wait(250)
service.tell('svc.activity.completed', { activityId: 'a', name: 'bash', title: 'ls', status: 'succeeded', output: 'x\ny', durationMs: 12 })
service.tell('svc.message.created', { role: 'assistant', text: 'Hello\nthere' })
child.on('exit', async () => { await service[Symbol.asyncDispose](); })
