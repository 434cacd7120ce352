import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gitHttpHost, makeGitRepository } from '@berth/testing/git/git-http-host.ts'
import { agentEnvironment } from '@berth/worker/agent/agent-environment.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EgressSecret } from '../src/driver.ts'
import { EdgeStage, secret } from '../src/testing/edge-clients.ts'
import { EdgeSandbox } from '../src/testing/edge-sandbox.ts'

const host = 'api.example.com'
const git: EgressSecret = {
  ...secret,
  ...{ name: 'GIT_TOKEN', placeholder: 'git0123456789abcdefghijklmn', hosts: ['git.example.com'] },
  put: { basic: { user: 'x-access-token' } },
}
/** Of a registry for packages of Node, and of one for those of Python and of Java. */
const npm: EgressSecret = {
  ...secret,
  ...{ name: 'NPM_TOKEN', placeholder: 'npm_0123456789abcdefghijklmn', hosts: ['npm.example.com'] },
}
const pip: EgressSecret = {
  ...git,
  ...{ name: 'PIP_TOKEN', placeholder: 'pip0123456789abcdefghijklmn', hosts: ['pip.example.com', 'maven.example.com'] },
}
const environment: Readonly<Record<string, string>> = {
  ...agentEnvironment([], true),
  TOKEN: secret.placeholder,
  GIT_TOKEN: git.placeholder,
  NPM_TOKEN: npm.placeholder,
  PIP_TOKEN: pip.placeholder,
}

const java = `cat > Ask.java <<'END'
import java.net.*; import java.net.http.*;
public class Ask { public static void main(String[] args) throws Exception {
  var open = (HttpURLConnection) new URL("https://${host}/java").openConnection();
  open.setRequestProperty("Authorization", "Bearer " + System.getenv("TOKEN"));
  System.out.println(new String(open.getInputStream().readAllBytes()));
  var asked = HttpRequest.newBuilder(URI.create("https://${host}/java"))
    .header("Authorization", "Bearer " + System.getenv("TOKEN")).build();
  var client = HttpClient.newBuilder().proxy(ProxySelector.getDefault()).build();
  System.out.println(client.send(asked, HttpResponse.BodyHandlers.ofString()).body());
} }
END
java Ask.java 2>/dev/null`

const go = `cat > ask.go <<'END'
package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
  asked, _ := http.NewRequest("GET", "https://${host}/go", nil)
  asked.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
  answer, err := http.DefaultClient.Do(asked)
  if err != nil { panic(err) }
  body, _ := io.ReadAll(answer.Body)
  fmt.Println(string(body))
}
END
GOFLAGS=-mod=mod GOPROXY=off go run ask.go`

const maven = `cat > settings.xml <<'END'
<settings><servers><server><id>own</id><username>agent</username><password>\${env.PIP_TOKEN}</password></server></servers></settings>
END
cat > pom.xml <<'END'
<project><modelVersion>4.0.0</modelVersion><artifactId>one</artifactId><packaging>pom</packaging>
<parent><groupId>com.example</groupId><artifactId>thing</artifactId><version>1.2.3</version><relativePath/></parent>
<repositories><repository><id>own</id><url>https://maven.example.com</url></repository></repositories></project>
END
mvn -q -s settings.xml -Dmaven.repo.local=$PWD/packages validate > log 2>&1 || cat log; find packages -name '*.pom' | xargs basename`

const python = (lines: string) =>
  `/usr/bin/python3 - <<'END'\nimport os\nheaders = {"Authorization": "Bearer " + os.environ["TOKEN"]}\n${lines}\nEND`

/** Programs that ask the host, with what they need of this machine, and the answers that they print. */
const programs: readonly (readonly [name: string, needs: string, script: string, prints: string])[] = [
  [
    'curl over HTTP/1.1',
    '/usr/bin/curl',
    `curl -sS --http1.1 -H "Authorization: Bearer $TOKEN" https://${host}/`,
    'in by 1.1',
  ],
  [
    'curl over HTTP/2',
    '/usr/bin/curl',
    `curl -sS --http2 -H "Authorization: Bearer $TOKEN" https://${host}/`,
    'in by 2.0',
  ],
  [
    'curl with a body that expects to go on',
    '/usr/bin/curl',
    `head -c 3000000 /dev/zero | curl -sS --http1.1 -H "Authorization: Bearer $TOKEN" -H 'Expect: 100-continue' --data-binary @- https://${host}/`,
    'in by 1.1',
  ],
  [
    "curl that knows the system's bundle alone",
    '/usr/bin/curl',
    `unset CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR; curl -sS --http1.1 -H "Authorization: Bearer $TOKEN" https://${host}/`,
    'in by 1.1',
  ],
  [
    'fetch of Node',
    '/',
    `/opt/berth/node -e 'fetch("https://${host}/", { headers: { Authorization: "Bearer " + process.env.TOKEN } }).then(answer => answer.text()).then(console.log)'`,
    'in by 1.1',
  ],
  [
    'https of Node',
    '/',
    `/opt/berth/node -e 'require("node:https").get("https://${host}/", { headers: { Authorization: "Bearer " + process.env.TOKEN } }, answer => answer.pipe(process.stdout))'`,
    'in by 1.1',
  ],
  [
    'urllib of Python',
    '/usr/bin/python3',
    python(
      `from urllib.request import Request, urlopen\nprint(urlopen(Request("https://${host}/", headers=headers)).read().decode())`,
    ),
    'in by 1.1',
  ],
  [
    'requests of Python',
    '/usr/lib/python3/dist-packages/requests',
    python(`import requests\nprint(requests.get("https://${host}/", headers=headers).text)`),
    'in by 1.1',
  ],
  [
    'httpx of Python',
    '/usr/lib/python3/dist-packages/httpx',
    python(`import httpx\nprint(httpx.get("https://${host}/", headers=headers).text)`),
    'in by 1.1',
  ],
  [
    'npm',
    '/usr/bin/npm',
    `echo "//npm.example.com/:_authToken=$NPM_TOKEN" > .npmrc; npm view thing version --registry=https://npm.example.com/ --fetch-retries=0 2>&1`,
    '1.2.3',
  ],
  [
    'pip',
    '/usr/lib/python3/dist-packages/pip',
    '/usr/bin/python3 -m pip index versions thing --retries 0 --index-url https://agent:$PIP_TOKEN@pip.example.com/simple 2>/dev/null | head -1',
    'thing (1.2.3)',
  ],
  ['Go', '/usr/bin/go', go, 'in by 2.0'],
  ['Java, by both of its clients', '/usr/bin/java', java, 'in by 1.1\nin by 2.0'],
  ["Debian's Maven", '/usr/bin/mvn', maven, 'thing-1.2.3.pom'],
]

const basicOf = (password: string) => `Basic ${Buffer.from(`x-access-token:${password}`).toString('base64')}`

/** Tells one version of one package to whoever has the token. */
function npmHost(incoming: IncomingMessage, response: ServerResponse): void {
  if (incoming.headers.authorization !== `Bearer ${npm.value}`) return void response.writeHead(401).end('{}')
  const dist = { tarball: 'https://npm.example.com/thing.tgz' }
  const versions = { '1.2.3': { name: 'thing', version: '1.2.3', dist } }
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify({ name: 'thing', 'dist-tags': { latest: '1.2.3' }, versions }))
}

function pipHost(incoming: IncomingMessage, response: ServerResponse): void {
  const isMine = incoming.headers.authorization === basicOf(pip.value)
  if (!isMine) return void response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="pip"' }).end()
  response.setHeader('Content-Type', 'text/html')
  response.end('<a href="/thing-1.2.3-py3-none-any.whl">thing-1.2.3-py3-none-any.whl</a>')
}

function mavenHost(incoming: IncomingMessage, response: ServerResponse): void {
  const isMine = incoming.headers.authorization === basicOf(pip.value)
  if (!isMine) return void response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="maven"' }).end()
  if (incoming.url !== '/com/example/thing/1.2.3/thing-1.2.3.pom') return void response.writeHead(404).end()
  response.end(`<project><modelVersion>4.0.0</modelVersion><groupId>com.example</groupId>
    <artifactId>thing</artifactId><version>1.2.3</version><packaging>pom</packaging></project>`)
}

describe('in a real sandbox, with loopback alone', () => {
  let stage: EdgeStage
  let sandbox: EdgeSandbox
  let repositories: string

  beforeAll(async () => {
    stage = await EdgeStage.open()
    repositories = await mkdtemp(join(tmpdir(), 'berth-edge-git-'))
    makeGitRepository(repositories)
    await stage.host(
      host,
      async (incoming, response) => {
        for await (const _ of incoming);
        const isIn = incoming.headers.authorization === `Bearer ${secret.value}`
        response.end(isIn ? `in by ${incoming.httpVersion}` : `out with ${incoming.headers.authorization}`)
      },
      { http2: true },
    )
    await stage.host('git.example.com', gitHttpHost(repositories, basicOf(git.value)))
    await stage.host('npm.example.com', npmHost)
    await stage.host('pip.example.com', pipHost)
    await stage.host('maven.example.com', mavenHost)
    sandbox = await EdgeSandbox.start(stage, [secret, git, npm, pip])
  })
  afterAll(async () => {
    await sandbox?.[Symbol.asyncDispose]()
    await stage?.[Symbol.asyncDispose]()
    await rm(repositories, { recursive: true, force: true })
  })

  for (const [name, needs, script, prints] of programs) {
    it.skipIf(!existsSync(needs))(`${name} sends a secret that it never has`, async () => {
      const { code, out } = await sandbox.run(`cd $(mktemp -d); export HOME=$PWD; ${script}`, environment)
      expect({ code, out: out.trim() }).toEqual({ code: 0, out: prints })
    })
  }

  it('git clones with basic authentication, and pushes', async () => {
    const { code, out } = await sandbox.run(
      `cd $(mktemp -d); export HOME=$PWD; exec 2>/dev/null; git clone -q https://agent:$GIT_TOKEN@git.example.com/one.git one && cd one &&
        git log --format=%s && git config user.name a && git config user.email a@b && git commit -q --allow-empty -m second && git push -q origin HEAD:other && echo pushed`,
      environment,
    )
    expect({ code, out: out.trim() }).toEqual({ code: 0, out: 'first\npushed' })
  })

  it('nothing but the placeholder is inside', async () => {
    const { out } = await sandbox.run(
      `cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c ${secret.value}; grep -rl ${secret.value} /workspace /home /tmp /run 2>/dev/null | wc -l
        ls ${'/run/berth/trust'}; grep -c 'PRIVATE KEY' -r /run/berth/trust | sort -u | cut -d: -f2`,
      environment,
    )
    expect(out.split('\n').slice(0, 2)).toEqual(['0', '0'])
    expect(out).not.toContain('PRIVATE')
  })

  it("a program that reads the authority's certificate gains nothing from it", async () => {
    const { code, out } = await sandbox.run(
      `cat /run/berth/trust/certs/*.0 | grep -c BEGIN; curl -sS --cacert /run/berth/trust/certs/*.0 -H "X-Key: $TOKEN" https://${host}/`,
      environment,
    )
    expect([code, out]).toEqual([0, expect.stringContaining('secret_not_for_host')])
  })

  it('a client that pins the real authority fails, and the bundle of other sandboxes is as it was', async () => {
    await using plain = await EdgeSandbox.start(stage, [secret], false)
    const { code, out } = await plain.run(`curl -sS https://${host}/; ls /run/berth`, {
      https_proxy: environment['https_proxy'] ?? '',
    })
    expect([code, out]).toEqual([0, expect.stringContaining('certificate')])
    expect(out).not.toContain('trust')
  })
})
