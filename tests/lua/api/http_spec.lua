--- perigee.http: which hosts the setting http_hosts allows, and in what form it passes requests on.
local fake_core = require "tests.lua.fake_core"

local STUBS = { "perigee.host.fetches", "perigee.host.tasks", "perigee.api.http" }

describe("perigee.http", function()
  local http, hosts, asked

  local function clean()
    for _, name in ipairs(STUBS) do package.loaded[name] = nil end
  end

  before_each(function()
    clean()
    local core = fake_core.new()
    core.limits = function() return { http_hosts = hosts } end
    core.product_version = function() return "1" end
    asked = nil
    package.loaded["perigee.host.tasks"] = { check_may_wait = function() end }
    package.loaded["perigee.host.fetches"] = {
      wait = function(request, timeout)
        asked = request
        return timeout
      end,
    }
    http = require "perigee.api.http"
  end)

  after_each(function()
    clean()
    fake_core.clean()
  end)

  local function allows(url)
    local answer, problem, code = http(url)
    assert.is_true(answer == 10 or code == "Unauthorized" and problem:find("http_hosts", 1, true) ~= nil)
    return answer == 10
  end

  it("asks no host by default", function()
    hosts = ""
    for _, url in ipairs { "http://localhost", "https://example.org", "http://[::1]" } do
      assert.is_false(allows(url), url)
    end
  end)

  it("asks a listed host at all ports, or at the one that is listed", function()
    hosts = "api.example.org, Two.example.org:8443,10.0.0.1:80,::1,[fe80::1]:81"
    for _, url in ipairs { "http://api.example.org", "https://API.example.org:99/x",
      "https://two.example.org:8443", "http://10.0.0.1/", "http://[::1]:5/", "http://[fe80::1]:81" } do
      assert.is_true(allows(url), url)
    end
    for _, url in ipairs { "https://two.example.org", "https://10.0.0.1", "http://example.org",
      "http://[fe80::1]", "http://xapi.example.org",
      "http://api.example.org.evil.test", "http://api.example.orgx" } do
      assert.is_false(allows(url), url)
    end
  end)

  it("takes an asterisk for one label", function()
    hosts = "*.example.org,*.one.test:8080"
    assert.is_true(allows "https://a.example.org")
    assert.is_true(allows "http://a.one.test:8080")
    for _, url in ipairs { "http://example.org", "http://a.b.example.org", "http://.example.org",
      "http://a.one.test", "http://aexample.org", "http://a.example.org.evil.test" } do
      assert.is_false(allows(url), url)
    end
  end)

  it("follows a change of the setting", function()
    hosts = "one.test"
    assert.is_true(allows "http://one.test")
    hosts = "two.test"
    assert.is_false(allows "http://one.test")
    assert.is_true(allows "http://two.test")
  end)

  it("passes on the URL that it has checked", function()
    hosts = "example.org"
    for given, wanted in pairs {
      ["HTTPS://Example.ORG"] = "https://example.org/",
      ["http://example.org?a=b#c"] = "http://example.org/?a=b",
      ["http://example.org:80/A/../b?x#y"] = "http://example.org:80/A/../b?x",
    } do
      assert.equal(10, http(given))
      assert.equal(wanted, asked.url)
    end
    assert.equal("GET", asked.method)
    assert.is_nil(asked.body)
    assert.equal("perigee/1", asked.headers["user-agent"])
  end)

  it("names the option whose value JSON cannot express", function()
    hosts = "example.org"
    assert.error_matches(function() http { url = "http://example.org", json = { at = print } } end,
      "json of perigee.http: value.at is a function", nil, true)
  end)

  it("refuses URLs by which another host could be meant", function()
    hosts = "example.org"
    for _, url in ipairs { "http://example.org@evil.test/", "http://example.org\\@evil.test/",
      "http://example.org:80:90", "http://example.org%2eevil.test", "http://example.org:", "//example.org",
      "http:/example.org", "ftp://example.org", "http://[example.org]", "http://[::1",
      "http://example.org\n", "http://exämple.org", "http://example.org:0", "http://::1/" } do
      assert.error_matches(function() http(url) end, "the URL", nil, false)
      assert.is_nil(asked, url)
    end
  end)
end)
