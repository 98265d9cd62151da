function love.conf(settings)
  settings.identity = "perigee-arena"
  settings.window.title = "Arena"
  settings.window.width, settings.window.height = 960, 600
  settings.window.resizable = true
  settings.modules.audio, settings.modules.sound = false, false
  settings.modules.joystick, settings.modules.physics = false, false
end
